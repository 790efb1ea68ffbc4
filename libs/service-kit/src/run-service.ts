import { Unavailable } from '@gatehouse/runtime'
import { ConfigurationError } from './config/configuration.ts'
import { openResources, type Opened, type ResourceOptions } from './resources/open-resources.ts'

type Environment = Readonly<Record<string, string | undefined>>

type Program<C, O extends ResourceOptions> = {
  /** Of the process, for logs and connections. */
  name: string
  /** Throws ConfigurationError with every fault. */
  readConfig(environment: Environment): { config: C; resources: O }
  start(config: C, resources: Opened<O>): Promise<AsyncDisposable & { url: string }>
}

/** The main program of a distributed service: reads its environment, opens its resources, runs until a signal. */
export async function runService<C, O extends ResourceOptions>(program: Program<C, O>): Promise<void> {
  await runUntilStopped(async () => {
    const { config, resources: options } = program.readConfig(process.env)
    await using opening = new AsyncDisposableStack()
    const resources = opening.use(await openResources(program.name, options))
    const service = opening.use(await program.start(config, resources))
    resources.log.info({ url: service.url }, 'listening')
    return opening.move()
  })
}

/** How long closing may take before the process exits regardless, in milliseconds. */
const stopLimitMs = 25_000

/**
 * Runs one process: starts it, waits for SIGTERM or SIGINT, closes it. A start that fails because of its configuration or
 * a server that is away prints one line for each fault and exits with 1. A second signal exits at once.
 */
export async function runUntilStopped(start: () => Promise<AsyncDisposable>): Promise<void> {
  const stopRequested = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
  try {
    const running = await start()
    await stopRequested
    process.once('SIGINT', () => process.exit(130))
    setTimeout(() => process.exit(1), stopLimitMs).unref()
    await running[Symbol.asyncDispose]()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${describeStartError(error)}\n`)
    process.exit(1)
  }
}

/** Of a fault that an operator can remove the message is enough; a stack would hide it. */
function describeStartError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isOperational = error instanceof ConfigurationError || error instanceof Unavailable
  return isOperational ? error.message : (error.stack ?? error.message)
}
