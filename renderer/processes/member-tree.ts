/** Members of a process as a tree by parent. */
import type { MemberView } from '../../preload/api.ts'

export interface MemberRow {
  member: MemberView
  depth: number
}

/** Parents before their children, in order of pid; a member whose parent is not among them is a root. */
export function memberRows(members: readonly MemberView[]): MemberRow[] {
  const pids = new Set(members.map((member) => member.pid))
  const children = new Map<number, MemberView[]>()
  const roots: MemberView[] = []
  for (const member of [...members].sort((a, b) => a.pid - b.pid)) {
    if (!pids.has(member.ppid) || member.ppid === member.pid) roots.push(member)
    else children.set(member.ppid, [...(children.get(member.ppid) ?? []), member])
  }
  const rows: MemberRow[] = []
  const add = (member: MemberView, depth: number): void => {
    rows.push({ member, depth })
    for (const child of children.get(member.pid) ?? []) add(child, depth + 1)
  }
  for (const root of roots) add(root, 0)
  return rows
}

/** "npm (4121)", "npm (4121) and 3 more": what a signal would hit. */
export function targetWords(members: readonly MemberView[], fallback: string): string {
  const [first] = members
  if (!first) return fallback
  const others = members.length - 1
  return others === 0 ? `${first.name} (${first.pid})` : `${first.name} (${first.pid}) and ${others} more`
}
