// `npm start`: a whole instance in one process, over a PostgreSQL of its own.
import { join } from 'node:path'
import { startPostgres, type PrivateServer } from '@gatehouse/local-servers'
import { ConfigurationError, createLog, runUntilStopped } from '@gatehouse/service-kit'
import { readableLines } from '../../tools/terminal/readable-lines.ts'
import { explainDatabase } from './explain-database.ts'
import { readConfig, type EmbeddedConfig } from './config.ts'
import { startEmbedded } from './embedded.ts'

await runUntilStopped(async () => {
  const config = readConfig(process.env)
  const destination = process.stdout.isTTY ? { destination: readableLines(process.stdout) } : {}
  const log = createLog({ level: config.logLevel, service: 'gatehouse', ...destination })
  await using opening = new AsyncDisposableStack()
  const postgres = opening.use(await openPostgres(config))
  const instance = opening.use(await startEmbedded(config, postgres.url, { log }))
  process.stdout.write(`\n${describe(config, instance)}\n\n`)
  return opening.move()
})

async function openPostgres({ dataFolder, databasePassword }: EmbeddedConfig): Promise<PrivateServer> {
  try {
    return await startPostgres({ folder: join(dataFolder, 'database'), password: databasePassword })
  } catch (cause) {
    throw new ConfigurationError([`GATEHOUSE_DATA: ${explainDatabase(cause, dataFolder)}`], { cause })
  }
}

function describe(config: EmbeddedConfig, instance: { url: string; opsUrl: string }): string {
  const origin = config.publicAddress.origin
  const isLocal = new URL(origin).hostname === 'localhost'
  return [
    `Gatehouse answers on ${isLocal ? origin : `${instance.url}, known as ${origin}`}`,
    `  web app       ${origin}/`,
    `  API           ${origin}/api/docs`,
    `  operations    ${instance.opsUrl}/metrics  /healthz  /readyz`,
    `  data folder   ${config.dataFolder}`,
    'Ctrl-C stops it.',
  ].join('\n')
}
