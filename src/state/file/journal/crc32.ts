/** The CRC-32 of bytes, as in zlib. Node has one since 20.15, but 21 and 22.0 do not. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ 0xedb88320;
  return crc;
});

/** Of the bytes from `start` to `end`, as an unsigned number. */
export function crc32(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  let crc = -1;
  for (let at = start; at < end; at++) crc = (crc >>> 8) ^ (TABLE[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  return ~crc >>> 0;
}
