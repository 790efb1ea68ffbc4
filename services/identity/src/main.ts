import { runService } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startIdentity } from './service.ts'

await runService({ name: 'identity', readConfig, start: startIdentity })
