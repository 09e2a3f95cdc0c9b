// src/launch.cpp
