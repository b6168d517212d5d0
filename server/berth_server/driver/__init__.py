"""The thin loop that takes keys from the queue and has them placed. Of the server it knows `ports.Service` alone."""
