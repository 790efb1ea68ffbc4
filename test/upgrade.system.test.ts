import { testUpgrade } from './upgrade/upgrade-tests.ts'

describe('a rolling upgrade of an instance under load: one process of each kind is replaced', function () {
  this.timeout(480_000)

  testUpgrade({
    replicas: {},
    replacedOfEach: { identity: 1, invite: 1, 'federation-fanout': 1, openid: 1, 'session-gateway': 1, gateway: 1 },
    socketsOfEachUser: 10,
    goals: {
      'sockets closed with 1012': 1,
      logins: 3,
      'writes acknowledged': 20,
      deletions: 1,
      'revoked tokens presented': 10,
    },
  })
})
