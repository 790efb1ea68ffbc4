import { runService } from '@gatehouse/service-kit'
import { readConfig, startGateway, tuneGc } from './service.ts'

tuneGc()
await runService({ name: 'gateway', readConfig, start: startGateway })
