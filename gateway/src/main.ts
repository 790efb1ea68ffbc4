import { openEdgePorts, runUntilStopped } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startGateway } from './service.ts'
import { enlargeYoungGeneration } from './young-generation.ts'

enlargeYoungGeneration()
await runUntilStopped(async () => {
  const config = readConfig(process.env)
  await using opening = new AsyncDisposableStack()
  const ports = opening.use(await openEdgePorts({ ...config.places, name: 'gateway' }))
  const gateway = opening.use(await startGateway(config, ports))
  ports.log.info({ url: gateway.url, ops: gateway.opsUrl }, 'listening')
  return opening.move()
})
