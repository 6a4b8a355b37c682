package main

import (
	"maps"
	"testing"
)

func TestBrokersAreReadByName(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"main=env:MAIN, side=amqp://u:p@h/x":                                           {"main": "env:MAIN", "side": "amqp://u:p@h/x"},
		"main=kafka://u:p@h:1,h:2,side=nats://h":                                       {"main": "kafka://u:p@h:1,h:2", "side": "nats://h"},
		"main=kafkas://h:1, h:2?sasl.mechanism=PLAIN,side=nats://h?x=y":                {"main": "kafkas://h:1,h:2?sasl.mechanism=PLAIN", "side": "nats://h?x=y"},
		"main=kafka://h:1?sasl.mechanism=PLAIN,other=kafka://h:1?session.timeout.ms=1": {"main": "kafka://h:1?sasl.mechanism=PLAIN", "other": "kafka://h:1?session.timeout.ms=1"},
		"main": nil, "main=": nil, "main=nats://h,h:2": nil, "=x": nil, "h:1,main=kafka://h": nil,
	} {
		var s settings
		if err := setBrokers(&s, text); (err == nil) != (want != nil) || err == nil && !maps.Equal(s.brokers, want) {
			t.Errorf("%s: got %v, %v; want %v", text, s.brokers, err, want)
		}
	}
}
