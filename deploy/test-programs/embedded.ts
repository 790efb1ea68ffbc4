// `npm start` with quick hashing.
import { readConfig } from '../embedded/config.ts'
import { runEmbedded } from '../embedded/run-embedded.ts'
import { quickHashing } from './quick-hashing.ts'

await runEmbedded((environment) => quickHashing(readConfig(environment)))
