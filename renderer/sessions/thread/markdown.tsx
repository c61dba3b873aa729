/** A message of a model, drawn from `markdown-blocks`: text only, nothing in it loads or runs. */
import { Fragment, memo, type ReactNode } from 'react'
import { VisibleText } from '../../components/visible-text.tsx'
import { useInvoke } from '../../feed/feed-context.tsx'
import { readBlocks, type Block, type Inline } from './markdown-blocks.ts'

export const Markdown = memo(function Markdown({ text }: { text: string }): ReactNode {
  return <div className="markdown">{readBlocks(text).map(drawBlock)}</div>
})

function drawBlock(block: Block, key: number): ReactNode {
  switch (block.kind) {
    case 'code':
      return (
        <pre
          key={key}
          tabIndex={0}
          aria-label={block.language === '' ? 'Code' : `Code, ${block.language}`}
          role="group"
        >
          {block.text.split('\n').map((line, index) => (
            <div key={index}>
              <VisibleText code text={line === '' ? ' ' : line} />
            </div>
          ))}
        </pre>
      )
    case 'list': {
      const items = block.items.map((item, index) => <li key={index}>{item.map(drawInline)}</li>)
      return block.isOrdered ? <ol key={key}>{items}</ol> : <ul key={key}>{items}</ul>
    }
    case 'heading':
      return (
        <p key={key} className="markdown-heading">
          {block.inlines.map(drawInline)}
        </p>
      )
    case 'quote':
      return <blockquote key={key}>{block.inlines.map(drawInline)}</blockquote>
    case 'paragraph':
      return <p key={key}>{block.inlines.map(drawInline)}</p>
  }
}

function drawInline(inline: Inline, key: number): ReactNode {
  const text = drawLines(inline.text, inline.kind === 'code')
  switch (inline.kind) {
    case 'strong':
      return <strong key={key}>{text}</strong>
    case 'emphasis':
      return <em key={key}>{text}</em>
    case 'link':
      return <OutsideLink key={key} url={inline.url} words={inline.text} />
    default:
      return <span key={key}>{text}</span>
  }
}

/** A line that ends in a message is one here: nothing about it is hidden. */
function drawLines(text: string, code: boolean): ReactNode {
  return text.split('\n').map((line, index) => (
    <Fragment key={index}>
      {index > 0 && <br />}
      <VisibleText code={code} text={line} />
    </Fragment>
  ))
}

/** Main asks before it opens anything. */
function OutsideLink({ url, words }: { url: string; words: string }): ReactNode {
  const invoke = useInvoke()
  return (
    <button type="button" className="link-button" onClick={() => void invoke('shell.openExternal', url)}>
      <VisibleText text={words} />
    </button>
  )
}
