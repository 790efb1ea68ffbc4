// One instance of the mesh, on the database that DATABASE names and with the clock of the mesh.
import { createMeshClock, type Pace } from './clock.ts'

const { DATABASE = '', MESH_PACE = '', ...environment } = process.env
const clock = createMeshClock(JSON.parse(MESH_PACE) as Pace)
Date.now = clock.now
process.on('message', (pace) => clock.set(pace as Pace))
const { readConfig } = await import('../../deploy/embedded/config.ts')
const { quickHashing } = await import('../../deploy/test-programs/quick-hashing.ts')
const { startEmbedded } = await import('../../deploy/embedded/embedded.ts')
await startEmbedded(quickHashing(readConfig(environment)), DATABASE)
process.stdout.write('the mesh: listening\n')
