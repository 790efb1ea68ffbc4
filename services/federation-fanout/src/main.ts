import { runService } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startFederationFanout } from './service.ts'

await runService({ name: 'federation-fanout', readConfig, start: startFederationFanout })
