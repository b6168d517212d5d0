"""Messages to plain questions (`decode`), plain answers to messages (`encode`): their only readers and builders."""
