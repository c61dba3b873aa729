import { literal, object, string, type Decoder } from '../../../protocol/decode.ts'
import type { UserInput } from '../../../protocol/app-server/thread-item.ts'

/** One part of a person's input; members a kind needs are checked, others passed on. */
export const userInput: Decoder<UserInput> = (value, path) => {
  const { type } = object({
    type: literal('text', 'image', 'localImage', 'audio', 'localAudio', 'skill', 'mention'),
  })(value, path)
  if (type === 'text') object({ text: string })(value, path)
  if (type === 'localImage' || type === 'localAudio') object({ path: string })(value, path)
  return value as UserInput
}
