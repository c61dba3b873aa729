/** Buttons and links that look like buttons. */
import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'
import './button.css'

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled' | 'type'> {
  /** `primary` for the one act that answers what waits; `danger` for what stops or removes. */
  tone?: 'plain' | 'primary' | 'danger' | 'quiet'
  icon?: IconName
  /**
   * Does nothing for now, and says so to everybody. The button keeps its place in the tab order, so
   * that focus is not lost when it comes and goes.
   */
  inert?: boolean
}

export function Button({
  tone = 'plain',
  icon,
  inert = false,
  onClick,
  className,
  children,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      {...rest}
      type="button"
      className={['button', tone, className].filter(Boolean).join(' ')}
      aria-disabled={inert || undefined}
      onClick={inert ? undefined : onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button whose picture stands for its name; the name is also the tooltip. */
export function IconButton({ name, icon, ...rest }: ButtonProps & { name: string; icon: IconName }): ReactNode {
  return (
    <Button
      {...rest}
      tone={rest.tone ?? 'quiet'}
      icon={icon}
      aria-label={name}
      title={rest.title ?? name}
      className={`icon-only ${rest.className ?? ''}`}
    />
  )
}
