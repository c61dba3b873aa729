/** The living members of a process's tree, asked for while they are shown. */
import { useEffect, useState } from 'react'
import type { MemberView } from '../../preload/api.ts'
import { useInvoke } from '../feed/feed-context.tsx'

const REFRESH_MS = 2_000
const NOBODY: readonly MemberView[] = []

/** Empty when the process is over or nobody can be named. */
export function useMembers(processId: string, live: boolean): readonly MemberView[] {
  const invoke = useInvoke()
  const [members, setMembers] = useState<readonly MemberView[]>(NOBODY)

  useEffect(() => {
    if (!live) return
    let current = true
    const ask = (): void => {
      if (document.visibilityState === 'hidden') return
      void invoke('processes.members', processId).then((outcome) => {
        if (current) setMembers(outcome.ok ? outcome.value : NOBODY)
      })
    }
    ask()
    const timer = setInterval(ask, REFRESH_MS)
    return () => {
      current = false
      clearInterval(timer)
    }
  }, [invoke, live, processId])

  return live ? members : NOBODY
}
