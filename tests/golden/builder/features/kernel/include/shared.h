// include/shared.h
