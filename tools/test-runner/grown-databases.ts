// Forked by main.ts: fills the databases of `lastFile` while the other tests run, and keeps them until its parent disconnects.
import { setPriority } from 'node:os'
import { startGrownDatabases } from '../../libs/database/test/grown-databases.ts'

/** Beside four busy processes on two cores it gets about an eighth of one: it is done when they are. */
const niceness = 5

setPriority(niceness)
process.once('disconnect', () => process.exit()) // the watchdog ends the server
const { few, many } = await startGrownDatabases()
process.send?.({ few, many })
