// `npm run example`: an instance in one process as `npm start` runs it, with examples/chat behind its gateway.
import { createLog, runUntilStopped } from '@gatehouse/service-kit'
import { readConfig } from '../embedded/config.ts'
import { openPostgres } from '../embedded/data-folder.ts'
import { createLogFormatter } from '../embedded/pretty-log.ts'
import { startExample } from './start-example.ts'

await runUntilStopped('example', async () => {
  const { NATS_URL: _, GATEHOUSE_UPSTREAMS: __, ...environment } = process.env
  const { dataFolder, databasePassword: password, logLevel: level } = readConfig(environment)
  const format = createLogFormatter({ isColored: process.stdout.isTTY })
  const destination = { write: (line: string) => void process.stdout.write(format(line)) }
  const log = createLog({ level, service: 'gatehouse', destination })
  await using opening = new AsyncDisposableStack()
  const { url: databaseUrl } = opening.use(await openPostgres(dataFolder, { password }))
  const example = opening.use(await startExample({ environment, dataFolder, databaseUrl, log, restarts: true }))
  process.stdout.write(`\nThe example answers on ${example.config.publicAddress.origin}/api/chat  Ctrl-C stops it.\n\n`)
  return opening.move()
})
