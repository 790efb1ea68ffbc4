import { runService } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startSessionGateway } from './service.ts'

await runService({ name: 'session-gateway', readConfig, start: startSessionGateway })
