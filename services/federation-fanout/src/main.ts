import { openPorts, runUntilStopped } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startFederationFanout } from './service.ts'

await runUntilStopped(async () => {
  const config = readConfig(process.env)
  await using opening = new AsyncDisposableStack()
  const ports = opening.use(await openPorts({ ...config.places, name: 'federation-fanout' }))
  const service = opening.use(await startFederationFanout(config, ports))
  ports.log.info({ url: service.url }, 'listening')
  return opening.move()
})
