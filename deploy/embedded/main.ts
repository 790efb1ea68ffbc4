// `npm start`.
import { readConfig } from './config.ts'
import { runEmbedded } from './run-embedded.ts'

await runEmbedded(readConfig)
