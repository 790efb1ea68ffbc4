import { testUpgrade } from './upgrade/upgrade-tests.ts'

describe('a rolling upgrade of an instance under load: the session gateway and a gateway are replaced', () => {
  // upgrade.system.test.ts replaces one of each.
  testUpgrade({
    replicas: { identity: 1, invite: 1, 'federation-fanout': 1, openid: 1, 'session-gateway': 1 },
    replacedOfEach: { 'session-gateway': 1, gateway: 1 },
    socketsOfEachUser: 2,
    goals: { 'sockets closed with 1012': 1, logins: 1, 'writes acknowledged': 3, 'revoked tokens presented': 5 },
  })
})
