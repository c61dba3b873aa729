/**
 * Addresses of 198.18.0.0/15 (RFC 2544: nobody's) that stand for names, so that a connection to one of them can be
 * made, and judged, by name. One is never given twice.
 */
export class NameBook {
  private readonly indexes = new Map<string, number>()
  private readonly names: string[] = []

  constructor(
    /** How many names it can hold; by default what the range has, without its first two and its last address. */
    private readonly capacity = 0x1fffd,
  ) {}

  /** The four bytes that stand for a name from now on, whatever its case; undefined when all are taken. */
  addressOf(name: string): Buffer | undefined {
    const key = name.toLowerCase()
    let index = this.indexes.get(key)
    if (index === undefined) {
      if (this.names.length >= this.capacity) return undefined
      index = this.names.push(key) - 1
      this.indexes.set(key, index)
    }
    const address = Buffer.alloc(4)
    address.writeUInt32BE(FIRST + index)
    return address
  }

  /** The name behind an address; undefined for one that was not given. */
  nameOf(address: Buffer): string | undefined {
    return address.length === 4 ? this.names[address.readUInt32BE() - FIRST] : undefined
  }
}

/** 198.18.0.2: the one before is that of the namespace. */
const FIRST = 0xc612_0002
