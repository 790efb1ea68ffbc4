import { createLog, runUntilStopped } from '@gatehouse/service-kit/start'
import type { EmbeddedConfig } from './config.ts'
import { openPostgres } from './data-folder.ts'

/** An instance in this process, until it is stopped. The services are imported while PostgreSQL starts, so that little is imported here. */
export async function runEmbedded(readConfig: (environment: NodeJS.ProcessEnv) => EmbeddedConfig): Promise<void> {
  await runUntilStopped('gatehouse', () => start(readConfig(process.env)))
}

const restarting =
  'PostgreSQL ended and is started again: requests get 503 until it is ready. If its disk is full, free space there'

async function start(config: EmbeddedConfig): Promise<AsyncDisposable> {
  const { dataFolder, databasePassword: password } = config
  const log = createLog({ level: config.logLevel, service: 'gatehouse', ...(await terminalDestination()) })
  await using opening = new AsyncDisposableStack()
  const { promise: spawned, resolve: onSpawned } = Promise.withResolvers<void>()
  const relocated = 'the data folder is closed to PostgreSQL, which does not run as root: its data are elsewhere'
  const onRelocated = (folder: string) => log.warn({ folder, dataFolder }, relocated)
  const onEnded = (reason: string, lastLines: string) => log.error({ reason, lastLines }, restarting)
  const server = openPostgres(dataFolder, { password, onSpawned, onRelocated, onEnded })
  const [postgres, { startEmbedded }] = await Promise.all([
    server.then((opened) => opening.use(opened)),
    spawned.then(() => import('./embedded.ts')),
  ])
  const instance = opening.use(await startEmbedded(config, postgres.url, { log }))
  process.stdout.write(`\n${startMessage(config, instance)}\n\n`)
  opening.defer(() => log.info('stopping: what was accepted is answered; a second signal ends at once'))
  return opening.move()
}

/** A pipe or file gets JSON. */
async function terminalDestination() {
  if (!process.stdout.isTTY) return {}
  const { createLogFormatter } = await import('./pretty-log.ts')
  const format = createLogFormatter({ isColored: true })
  return { destination: { write: (line: string) => void process.stdout.write(format(line)) } }
}

function startMessage(config: EmbeddedConfig, instance: { url: string; opsUrl: string }): string {
  const { origin } = config.publicAddress
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
