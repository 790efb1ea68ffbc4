import { runService } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startInvite } from './service.ts'

await runService({ name: 'invite', readConfig, start: startInvite })
