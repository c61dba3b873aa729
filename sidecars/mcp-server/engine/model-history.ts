/**
 * What the model has seen and said, in order. Kept also as JSON text, so that a request with a long
 * history costs no serialization of the old part.
 */
import { repairHistory } from '../rollout/repair-history.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'

export class ModelHistory {
  private items: ResponseItem[] = []
  private texts: string[] = []

  constructor(items: readonly ResponseItem[] = []) {
    this.replace(items)
  }

  get length(): number {
    return this.items.length
  }

  all(): readonly ResponseItem[] {
    return this.items
  }

  add(...items: ResponseItem[]): void {
    for (const item of items) {
      this.items.push(item)
      this.texts.push(JSON.stringify(item))
    }
  }

  replace(items: readonly ResponseItem[]): void {
    this.items = []
    this.texts = []
    this.add(...items)
  }

  /** Gives every call an output; returns what was added, for the caller to store. */
  repair(): ResponseItem[] {
    const { history, added } = repairHistory(this.items)
    if (history.length !== this.items.length || added.length > 0) this.replace(history)
    return added
  }

  /** The members of a request's `input` array as JSON text, without brackets. */
  get inputText(): string {
    return this.texts.join(',')
  }
}

export const textMessage = (role: 'user' | 'developer', text: string): ResponseItem => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
})
