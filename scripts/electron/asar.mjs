// The one archive format Electron loads apps from. Only flat archives of small text files.
/**
 * The bytes of an asar archive. `files` maps a name (no folders) to its text.
 *
 * The layout is two Chromium pickles and then the file bytes: the first pickle holds the size of the
 * second, the second holds the length of the JSON header and the header, padded to four bytes.
 */
export function packAsar(files) {
  const header = { files: {} }
  const bodies = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const body = Buffer.from(text)
    header.files[name] = { size: body.length, offset: String(offset) }
    bodies.push(body)
    offset += body.length
  }
  const json = Buffer.from(JSON.stringify(header))
  const padded = Buffer.alloc(Math.ceil(json.length / 4) * 4)
  json.copy(padded)
  const sizes = Buffer.alloc(16)
  sizes.writeUInt32LE(4, 0)
  sizes.writeUInt32LE(8 + padded.length, 4)
  sizes.writeUInt32LE(4 + padded.length, 8)
  sizes.writeUInt32LE(json.length, 12)
  return Buffer.concat([sizes, padded, ...bodies])
}
