module interop/contract

go 1.24
