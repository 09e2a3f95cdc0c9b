// src/device.hip
