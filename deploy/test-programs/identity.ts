// services/identity/src/main.ts with quick hashing.
import { readConfig, startIdentity } from '@gatehouse/identity'
import { runService } from '@gatehouse/service-kit'
import { quickHashing } from './quick-hashing.ts'

await runService({
  name: 'identity',
  readConfig: (environment) => {
    const { config, resources } = readConfig(environment)
    return { config: quickHashing(config), resources }
  },
  start: startIdentity,
})
