/** A person's input as the model gets it. */
import type { UserInput } from '../../protocol/app-server/thread-item.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import type { PendingInput } from './active-turn.ts'
import { imageUrl } from './tools/view-image.ts'

/** Files that cannot be read become a line of text saying so: the message itself is never lost. */
export async function inputMessages(pending: PendingInput): Promise<ResponseItem[]> {
  const context = Object.entries(pending.additionalContext ?? {}).map(([name, { value }]) => ({
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: `<${name}>\n${value}\n</${name}>` }],
  }))
  const content = await Promise.all(pending.input.map(contentPart))
  return content.length === 0 ? context : [...context, { type: 'message', role: 'user', content }]
}

async function contentPart(input: UserInput): Promise<Record<string, unknown>> {
  switch (input.type) {
    case 'text':
      return { type: 'input_text', text: input.text }
    case 'image':
      return input.url?.startsWith('data:')
        ? { type: 'input_image', image_url: input.url }
        : { type: 'input_text', text: `[image ${input.fileId ?? input.url ?? ''} not attached: only data: URLs are]` }
    case 'localImage':
      return imageUrl(input.path).then(
        (url) => ({ type: 'input_image', image_url: url }),
        (error: unknown) => ({
          type: 'input_text',
          text: `[image ${input.path} not attached: ${(error as Error).message}]`,
        }),
      )
    case 'skill':
    case 'mention':
      return { type: 'input_text', text: `[${input.name}](${input.path})` }
    default:
      return { type: 'input_text', text: `[${input.type} not attached: this model takes no audio]` }
  }
}
