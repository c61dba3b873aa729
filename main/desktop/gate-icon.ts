import { nativeImage, type NativeImage } from 'electron'

const SIZE = 32
/** Light and dark panels exist on one and the same desktop; this grey reads on both. */
const INK = [0x9a, 0xa4, 0xb2] as const
const ACCENT = [0xe8, 0xa3, 0x3d] as const

type Ink = typeof INK | typeof ACCENT

/** The tray's picture, drawn here: a gate with two towers; with a dot when something waits. */
export function gateIcon(hasPending: boolean): NativeImage {
  const pixels = Buffer.alloc(SIZE * SIZE * 4)
  for (let y = 0; y < SIZE; y++)
    for (let x = 0; x < SIZE; x++) {
      const ink = inkAt(x, y, hasPending)
      if (!ink) continue
      // Bitmaps are blue, green, red, alpha.
      pixels.set([ink[2], ink[1], ink[0], 0xff], (y * SIZE + x) * 4)
    }
  const image = nativeImage.createFromBitmap(pixels, { width: SIZE, height: SIZE, scaleFactor: 2 })
  // macOS colours a template to its menu bar; the dot would lose its meaning there.
  image.setTemplateImage(!hasPending)
  return image
}

function inkAt(x: number, y: number, hasPending: boolean): Ink | undefined {
  if (hasPending) {
    const distance = Math.hypot(x - 25, y - 6)
    if (distance <= 6) return ACCENT
    // A rim of nothing keeps the dot apart from the tower behind it.
    if (distance <= 8) return undefined
  }
  const isTower = (x >= 3 && x < 11) || (x >= 21 && x < 29)
  const isBattlement = y >= 4 && y < 8 && isTower && x % 3 !== 2
  const isWall = y >= 8 && y < 29 && isTower
  const isBridge = y >= 11 && y < 16 && x >= 11 && x < 21
  const isArch = y >= 16 && y < 29 && x >= 11 && x < 21 && Math.hypot(x - 15.5, Math.min(0, y - 20)) > 4.5 && y < 20
  return isBattlement || isWall || isBridge || isArch ? INK : undefined
}
