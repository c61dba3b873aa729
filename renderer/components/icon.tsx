/** Line icons, 16 px, in the colour of the text. They repeat a word that stands beside them or in a name. */
import type { ReactNode } from 'react'

const PATHS = {
  inbox: 'M2.5 9.5h3l1 2h3l1-2h3M3.6 3h8.8l1.1 6.5V13h-11V9.500z',
  sessions: 'M2.500 3.500h11v7h-6l-3 2.500v-2.500h-2z',
  processes: 'M2.500 3h11v10h-11zM5 6.500l2 1.500-2 1.500M8.500 10h2.500',
  network:
    'M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM2.500 8h11M8 2.500c2.200 3 2.200 8 0 11M8 2.500c-2.200 3-2.200 8 0 11',
  agents: 'M5.500 2.500v3M10.500 2.500v3M4 5.500h8v2.500a4 4 0 0 1-8 0zM8 12v2',
  rules: 'M3 4h1.500M6.500 4H13M3 8h1.500M6.500 8H13M3 12h1.500M6.500 12H13',
  settings: 'M2.500 5h5M11 5h2.500M9.200 3.300v3.400M2.500 11h2.500M8.500 11h5M6.800 9.300v3.400',
  menu: 'M2.500 4h11M2.500 8h11M2.500 12h11',
  search: 'M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300l3.200 3.200',
  copy: 'M5.500 5.500h8v8h-8zM3 10.500H2.500v-8h8V3',
  check: 'M3 8.500l3.200 3L13 4.500',
  cross: 'M4 4l8 8M12 4l-8 8',
  question: 'M6 6.200a2 2 0 1 1 2.800 1.900c-.6.300-.8.700-.8 1.400M8 11.800v.4',
  blocked: 'M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM4.200 4.200l7.600 7.600',
  left: 'M9.500 3.500L5 8l4.500 4.500',
  right: 'M6.500 3.500L11 8l-4.500 4.500',
  down: 'M3.500 6L8 10.500 12.500 6',
  dots: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  warning: 'M8 2.500l6 11H2zM8 6.500v3.200M8 11.500v.3',
  end: 'M3.500 13h9M8 3v7M5 7.500L8 10.500l3-3',
  save: 'M8 2.500v7M5 7l3 3 3-3M2.500 13h11',
  clock: 'M8 2.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM8 5v3.200l2 1.300',
  panel: 'M2.500 3h11v10h-11zM10 3v10',
  plus: 'M8 3.500v9M3.500 8h9',
} as const
export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
