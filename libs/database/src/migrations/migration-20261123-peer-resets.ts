import { Migration } from '@mikro-orm/migrations'

/** When another instance was first seen at an origin: who registered later is no user of the one that was lost. */
export class Migration20261123PeerResets extends Migration {
  override up(): void {
    this.addSql('alter table peer_resets add column seen_at timestamptz')
  }
}
