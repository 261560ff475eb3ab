/*
 * CRC16-XMODEM (polynomial 0x1021, start 0), bit by bit: a key is short, and this is asked once a
 * call. Source: "Redis cluster specification", key distribution model.
 */
#include "redis/slots.h"

#include <stdint.h>
#include <string.h>

static unsigned crc16(const char *bytes, size_t len)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc ^ ((uint16_t)(unsigned char)bytes[i] << 8));
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
    return crc;
}

int dlock_slot_of(const char *key, size_t len)
{
    const char *open = memchr(key, '{', len);
    if (open) {
        const char *tag = open + 1;
        const char *close = memchr(tag, '}', len - (size_t)(tag - key));
        if (close && close > tag)
            return (int)(crc16(tag, (size_t)(close - tag)) % SLOTS);
    }
    return (int)(crc16(key, len) % SLOTS);
}
