import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { useState, type ReactNode } from 'react'
import { afterEach, expect, test } from 'vitest'
import { usePointerHold } from './use-pointer-hold.ts'

function List(): ReactNode {
  const hand = usePointerHold()
  const [isAnswered, setAnswered] = useState(false)
  return (
    <main>
      <section aria-label="list" data-held={hand.held} {...hand.handlers}>
        {isAnswered ? 'answered' : <button onClick={() => setAnswered(true)}>Allow</button>}
      </section>
      <p>elsewhere</p>
    </main>
  )
}
const held = (): string | undefined => screen.getByRole('region', { name: 'list' }).dataset.held
afterEach(cleanup)

test('holds from a movement or a press until the pointer leaves', () => {
  render(<List />)
  const list = screen.getByRole('region', { name: 'list' })
  fireEvent.pointerMove(list, { movementX: 0, movementY: 0 })
  expect(held()).toBe('false')
  fireEvent.pointerMove(list, { movementX: 2 })
  expect(held()).toBe('true')
  fireEvent.pointerLeave(list)
  expect(held()).toBe('false')
})

test('lets go when the pointer is elsewhere, also where what was pressed is gone and no leaving is told', () => {
  render(<List />)
  const button = screen.getByRole('button')
  fireEvent.pointerDown(button)
  fireEvent.click(button)
  expect(held()).toBe('true')
  fireEvent.pointerMove(screen.getByText('elsewhere'), { movementX: 9 })
  expect(held()).toBe('false')
})

test('lets go when the pointer leaves the window', () => {
  render(<List />)
  fireEvent.pointerDown(screen.getByRole('button'))
  document.documentElement.dispatchEvent(new Event('pointerleave'))
  fireEvent.pointerMove(screen.getByText('elsewhere'))
  expect(held()).toBe('false')
})

test('lets go when the hand goes to the keyboard', () => {
  render(<List />)
  fireEvent.pointerDown(screen.getByRole('button'))
  fireEvent.keyDown(document.body, { key: 'j' })
  expect(held()).toBe('false')
})
