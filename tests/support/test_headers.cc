// Exists to be compiled with, and so to make, the precompiled headers that the tests share. A
// program, since those are compiled otherwise than libraries.
int main() { return 0; }
