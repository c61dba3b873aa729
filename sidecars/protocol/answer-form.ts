/**
 * What a question wants to be answered with: fields read from a session's own questions or from the form
 * of an MCP server, and the check of what was filled in. The window draws by it, the host checks by it.
 */
import type { Subject } from './subject.ts'

export interface FieldOption {
  value: string
  label: string
  description: string
}
export interface AnswerField {
  /** Key of the answer; unique in its form. */
  name: string
  title: string
  description: string
  isRequired: boolean
  /** `one` and `many` choose among `options`; `json` is a shape that no simple control fits. */
  kind: 'text' | 'number' | 'integer' | 'boolean' | 'one' | 'many' | 'json'
  options: FieldOption[]
  /** With `one`: words of the owner's own are an answer, too. */
  mayBeOther: boolean
  /** Not to be shown while it is typed, and never written down. */
  isSecret: boolean
  /** Bounds of a text's length or of a number; inclusive. */
  min: number | null
  max: number | null
  format: string | null
  initial: unknown
}
export type Answers = Record<string, unknown>

type Loose = Record<string, unknown>

/** The fields of a subject that wants words; null for one that wants only a verdict. */
export function answerFields(subject: Subject): AnswerField[] | null {
  if (subject.kind === 'question') return subject.questions.map(questionField)
  return subject.kind === 'elicitation' ? schemaFields(subject.schema) : null
}

/**
 * The answers as they are sent on: only what was asked for, in the types that were asked for. `problems`
 * names each field that is not answered well, in words that fit behind its name.
 */
export function checkAnswers(
  fields: readonly AnswerField[],
  given: Answers,
): { answers: Answers; problems: Record<string, string> } {
  const answers: Answers = {}
  const problems: Record<string, string> = {}
  for (const field of fields) {
    const value = given[field.name]
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) {
      if (field.isRequired) problems[field.name] = 'needs an answer'
      else if (Array.isArray(value)) answers[field.name] = []
      continue
    }
    const problem = problemOf(field, value)
    if (problem === null) answers[field.name] = value
    else problems[field.name] = problem
  }
  return { answers, problems }
}

const NO_BOUNDS = { min: null, max: null, format: null, initial: undefined }

function questionField(question: Extract<Subject, { kind: 'question' }>['questions'][number]): AnswerField {
  const options = question.options ?? []
  return {
    ...NO_BOUNDS,
    name: question.id,
    title: question.question,
    description: question.header,
    isRequired: true,
    kind: options.length > 0 ? 'one' : 'text',
    options: options.map(({ label, description }) => ({ value: label, label, description })),
    mayBeOther: question.isOther,
    isSecret: question.isSecret,
  }
}

function schemaFields(schema: unknown): AnswerField[] {
  const { properties, required } = looseOf(schema)
  const needed = Array.isArray(required) ? required : []
  return Object.entries(looseOf(properties)).map(([name, property]) =>
    schemaField(name, looseOf(property), needed.includes(name)),
  )
}

function schemaField(name: string, property: Loose, isRequired: boolean): AnswerField {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  const bound = (...keys: string[]): number | null =>
    keys.map((key) => property[key]).find((value): value is number => typeof value === 'number') ?? null
  const items = looseOf(property.items)
  const single = optionsOf(property)
  const several = property.type === 'array' ? optionsOf(items) : []
  const kind: AnswerField['kind'] =
    single.length > 0
      ? 'one'
      : several.length > 0
        ? 'many'
        : property.type === 'string'
          ? 'text'
          : property.type === 'number' || property.type === 'integer' || property.type === 'boolean'
            ? property.type
            : 'json'
  return {
    name,
    title: text(property.title) || name,
    description: text(property.description),
    isRequired,
    kind,
    options: kind === 'many' ? several : single,
    mayBeOther: false,
    isSecret: property.format === 'password',
    min: bound('minLength', 'minimum', 'minItems'),
    max: bound('maxLength', 'maximum', 'maxItems'),
    format: typeof property.format === 'string' ? property.format : null,
    initial: property.default,
  }
}

/** `enum` with `enumNames`, or `oneOf`/`anyOf` of constants with titles. */
function optionsOf(property: Loose): FieldOption[] {
  if (Array.isArray(property.enum)) {
    const names: unknown[] = Array.isArray(property.enumNames) ? property.enumNames : []
    return property.enum.map((value, i) => ({
      value: String(value),
      label: String(names[i] ?? value),
      description: '',
    }))
  }
  const constants = [property.oneOf, property.anyOf].find(Array.isArray) ?? []
  return (constants as unknown[]).map(looseOf).flatMap((option) =>
    option.const === undefined
      ? []
      : [
          {
            value: String(option.const),
            label: typeof option.title === 'string' ? option.title : String(option.const),
            description: typeof option.description === 'string' ? option.description : '',
          },
        ],
  )
}

function problemOf(field: AnswerField, value: unknown): string | null {
  const { kind, options, min, max } = field
  const isOffered = (one: unknown): boolean => options.some((option) => option.value === one)
  switch (kind) {
    case 'text':
      if (typeof value !== 'string') return 'wants a text'
      if (min !== null && value.length < min) return `wants at least ${min} characters`
      if (max !== null && value.length > max) return `wants at most ${max} characters`
      return formatProblem(field.format, value)
    case 'number':
    case 'integer':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'wants a number'
      if (kind === 'integer' && !Number.isInteger(value)) return 'wants a whole number'
      if (min !== null && value < min) return `wants at least ${min}`
      return max !== null && value > max ? `wants at most ${max}` : null
    case 'boolean':
      return typeof value === 'boolean' ? null : 'wants yes or no'
    case 'one':
      if (typeof value !== 'string') return 'wants one of the choices'
      return field.mayBeOther || isOffered(value) ? null : 'is none of the choices'
    case 'many':
      if (!Array.isArray(value) || !value.every(isOffered)) return 'wants some of the choices'
      if (min !== null && value.length < min) return `wants at least ${min} choices`
      return max !== null && value.length > max ? `wants at most ${max} choices` : null
    case 'json':
      return null
  }
}

function formatProblem(format: string | null, value: string): string | null {
  switch (format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(value) ? null : 'wants an email address'
    case 'uri':
      return /^[a-z][a-z0-9+.-]*:\S+$/i.test(value) ? null : 'wants a whole address, such as https://example.org/'
    case 'date':
      return /^\d{4}-\d\d-\d\d$/.test(value) ? null : 'wants a date, such as 2026-03-14'
    case 'date-time':
      return Number.isNaN(Date.parse(value)) ? 'wants a date and time' : null
    default:
      return null
  }
}

const looseOf = (value: unknown): Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {}
