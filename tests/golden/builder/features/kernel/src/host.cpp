// src/host.cpp
