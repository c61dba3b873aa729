/** The fields of a question, each with a control that fits what it wants. Typing in them sends nothing. */
import { useId, useState, type ReactNode } from 'react'
import type { AnswerField } from '../../sidecars/protocol/answer-form.ts'
import { VisibleText } from '../components/visible-text.tsx'
import type { AnswerForm } from './use-answer-form.ts'
import './answer-form.css'

export function AnswerFields({ form, isOver }: { form: AnswerForm; isOver: boolean }): ReactNode {
  if (!form.fields || form.fields.length === 0) return null
  return (
    <div className="answer-fields">
      {form.fields.map((field) => (
        <Field key={field.name} field={field} form={form} isOver={isOver} />
      ))}
    </div>
  )
}

function Field({ field, form, isOver }: { field: AnswerField; form: AnswerForm; isOver: boolean }): ReactNode {
  const id = useId()
  const problem = form.problems[field.name]
  const props = {
    id,
    field,
    value: form.values[field.name],
    write: (value: unknown) => form.write(field.name, value),
    describedBy: problem === undefined ? undefined : `${id}-problem`,
    isOver,
  }
  const isGroup = field.kind === 'one' || field.kind === 'many' || field.kind === 'boolean'
  const title = (
    <>
      <VisibleText text={field.title} />
      {!field.isRequired && <span className="dim"> (optional)</span>}
    </>
  )
  return (
    <div className={`answer-field ${problem === undefined ? '' : 'wrong'}`}>
      {isGroup ? (
        <fieldset aria-describedby={props.describedBy} disabled={isOver}>
          <legend>{title}</legend>
          <Description text={field.description} />
          {field.kind === 'boolean' ? <YesNo {...props} /> : <Choices {...props} />}
        </fieldset>
      ) : (
        <>
          <label htmlFor={id}>{title}</label>
          <Description text={field.description} />
          <TextControl {...props} />
        </>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} className="answer-problem" role="alert">
          This {problem}.
        </p>
      )}
    </div>
  )
}

const Description = ({ text }: { text: string }): ReactNode =>
  text === '' ? null : (
    <p className="meta">
      <VisibleText text={text} />
    </p>
  )

interface ControlProps {
  id: string
  field: AnswerField
  value: unknown
  write: (value: unknown) => void
  describedBy: string | undefined
  isOver: boolean
}

function TextControl({ id, field, value, write, describedBy, isOver }: ControlProps): ReactNode {
  const [json, setJson] = useState(value === undefined ? '' : JSON.stringify(value, null, 2))
  const shared = { id, 'aria-describedby': describedBy, spellCheck: false, readOnly: isOver }
  const text = value === undefined || value === null ? '' : String(value)
  if (field.kind === 'json')
    return (
      <textarea
        {...shared}
        className="field code"
        rows={4}
        placeholder="JSON"
        value={json}
        onChange={({ target }) => {
          setJson(target.value)
          write(parsed(target.value))
        }}
      />
    )
  if (field.kind === 'number' || field.kind === 'integer')
    return (
      <input
        {...shared}
        className="field"
        inputMode="decimal"
        value={text}
        onChange={({ target }) => write(numberOf(target.value))}
      />
    )
  if (field.isSecret || field.format !== null || field.max !== null)
    return (
      <input
        {...shared}
        className="field"
        type={field.isSecret ? 'password' : 'text'}
        autoComplete="off"
        value={text}
        onChange={({ target }) => write(target.value)}
      />
    )
  return <textarea {...shared} className="field" rows={2} value={text} onChange={({ target }) => write(target.value)} />
}

function Choices({ id, field, value, write }: ControlProps): ReactNode {
  const isMany = field.kind === 'many'
  const chosen = isMany && Array.isArray(value) ? (value as string[]) : []
  const isOffered = field.options.some((option) => option.value === value)
  const [isOther, setOther] = useState(false)
  return (
    <>
      {field.options.map((option) => (
        <label key={option.value} className="radio">
          <input
            type={isMany ? 'checkbox' : 'radio'}
            name={id}
            checked={isMany ? chosen.includes(option.value) : !isOther && value === option.value}
            onChange={({ target }) => {
              setOther(false)
              if (!isMany) write(option.value)
              else write(target.checked ? [...chosen, option.value] : chosen.filter((one) => one !== option.value))
            }}
          />
          <span>
            <VisibleText text={option.label} />
            {option.description !== '' && (
              <span className="dim">
                {' '}
                <VisibleText text={option.description} />
              </span>
            )}
          </span>
        </label>
      ))}
      {field.mayBeOther && !isMany && (
        <label className="radio">
          <input
            type="radio"
            name={id}
            checked={isOther}
            onChange={() => {
              setOther(true)
              write('')
            }}
          />
          <span>Something else</span>
        </label>
      )}
      {isOther && (
        <textarea
          className="field"
          rows={2}
          aria-label={`${field.title}: something else`}
          value={isOffered || typeof value !== 'string' ? '' : value}
          onChange={({ target }) => write(target.value)}
        />
      )}
    </>
  )
}

function YesNo({ id, value, write }: ControlProps): ReactNode {
  return (
    <>
      {[true, false].map((choice) => (
        <label key={String(choice)} className="radio">
          <input type="radio" name={id} checked={value === choice} onChange={() => write(choice)} />
          <span>{choice ? 'Yes' : 'No'}</span>
        </label>
      ))}
    </>
  )
}

/** What is no number stays as it is typed; the check of the form names it. */
function numberOf(text: string): unknown {
  const number = Number(text)
  return text.trim() === '' ? undefined : Number.isFinite(number) && !/[.eE-]$/.test(text) ? number : text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
