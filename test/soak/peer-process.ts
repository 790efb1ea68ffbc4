// The other instance of the soak, embedded, on the database that DATABASE names.
import { readConfig } from '../../deploy/embedded/config.ts'
import { startEmbedded } from '../../deploy/embedded/embedded.ts'
import { quickHashing } from '../../deploy/test-programs/quick-hashing.ts'

const { DATABASE = '', ...environment } = process.env
const { opsUrl } = await startEmbedded(quickHashing(readConfig(environment)), DATABASE)
process.stdout.write(`operations ${opsUrl}\n`)
