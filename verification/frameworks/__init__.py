"""Published frameworks and research codes put before `identify` through the adapters, and the gallery that is made of it."""
