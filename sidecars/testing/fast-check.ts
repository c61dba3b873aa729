// fast-check with the seed of the run (seed.ts). Tests import it from here.
import fc from 'fast-check'
import { SEED } from './seed.ts'

fc.configureGlobal({ seed: SEED })
export default fc
