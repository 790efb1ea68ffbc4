import { runService } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startGateway } from './service.ts'
import { tuneGc } from './tune-gc.ts'

tuneGc()
await runService({ name: 'gateway', readConfig, start: startGateway })
