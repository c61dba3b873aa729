/** What `npm test` uses, so that a run of the same code is the same run. */
const USUAL_SEED = 20_261_201

/**
 * The seed of every test that makes up its input. `GATEHOUSE_SEED` repeats a run or makes another one;
 * `GATEHOUSE_SEED=random` explores. A test that fails prints it.
 */
export const SEED = seedOf(process.env.GATEHOUSE_SEED)

function seedOf(given: string | undefined): number {
  if (given === undefined) return USUAL_SEED
  if (given === 'random') return Math.floor(Math.random() * 2 ** 31)
  const seed = Number(given)
  if (!Number.isInteger(seed)) throw new Error(`GATEHOUSE_SEED is "${given}": a whole number or "random" is needed`)
  return seed
}
