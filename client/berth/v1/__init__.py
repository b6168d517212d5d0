"""Generated messages and stubs of the package `berth.v1`; `make proto` writes all files here but this one."""
