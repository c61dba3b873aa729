/** A small square with the first letters of an agent's name: the same agent always looks the same. */
import type { ReactNode } from 'react'
import './monogram.css'

export function Monogram({ name }: { name: string }): ReactNode {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? ['?']
  const letters = words.length > 1 ? `${words[0]?.[0]}${words[1]?.[0]}` : (words[0]?.slice(0, 2) ?? '?')
  return (
    <span className="monogram" aria-hidden="true">
      {letters.toUpperCase()}
    </span>
  )
}
