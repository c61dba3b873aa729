/** Names for child agents, so that people can tell them apart. */
const NAMES = [
  'Alder',
  'Aspen',
  'Beech',
  'Birch',
  'Cedar',
  'Cypress',
  'Elder',
  'Elm',
  'Fir',
  'Hazel',
  'Holly',
  'Juniper',
  'Larch',
  'Laurel',
  'Linden',
  'Maple',
  'Oak',
  'Olive',
  'Pine',
  'Poplar',
  'Rowan',
  'Sorrel',
  'Spruce',
  'Willow',
]

/** The first name that nobody in `taken` has; they get numbers when all are given away. */
export function agentName(taken: ReadonlySet<string>): string {
  for (let round = 1; ; round++)
    for (const name of NAMES) {
      const full = round === 1 ? name : `${name} ${round}`
      if (!taken.has(full)) return full
    }
}
