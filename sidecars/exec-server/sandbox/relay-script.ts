/**
 * Parts of perl scripts: `relay($client, $out)` carries bytes both ways between two sockets until both have ended;
 * `send_all($to, $bytes)` is false when nobody takes them any more.
 */
export const RELAY = String.raw`
sub relay {
  my ($client, $out) = @_;
  my %peer = (fileno($client) => $out, fileno($out) => $client);
  my %open = (fileno($client) => $client, fileno($out) => $out);
  while (%open) {
    my $ready = '';
    vec($ready, $_, 1) = 1 for keys %open;
    select($ready, undef, undef, undef) > 0 or next;
    for my $fd (keys %open) {
      next unless vec($ready, $fd, 1);
      my $count = sysread($open{$fd}, my $bytes, 65536);
      if (!$count) { shutdown($peer{$fd}, 1); delete $open{$fd} }
      elsif (!send_all($peer{$fd}, $bytes)) { return }
    }
  }
}
sub send_all {
  my ($to, $bytes) = @_;
  for (my $at = 0; $at < length $bytes;) {
    my $count = syswrite($to, $bytes, length($bytes) - $at, $at);
    return 0 unless $count;
    $at += $count;
  }
  return 1;
}
`
