import { openPorts, runUntilStopped } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startInvite } from './service.ts'

await runUntilStopped(async () => {
  const config = readConfig(process.env)
  await using opening = new AsyncDisposableStack()
  const ports = opening.use(await openPorts({ ...config.places, name: 'invite' }))
  const service = opening.use(await startInvite(config, ports))
  ports.log.info({ url: service.url }, 'listening')
  return opening.move()
})
