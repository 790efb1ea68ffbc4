import { runService } from '@gatehouse/service-kit'
import { readConfig } from './config.ts'
import { startOpenid } from './service.ts'

await runService({ name: 'openid', readConfig, start: startOpenid })
